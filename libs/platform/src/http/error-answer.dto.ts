import { ApiProperty } from '@nestjs/swagger';

/** Every error of the API has this shape. */
export class ErrorAnswer {
  @ApiProperty({ example: 'Validation failed' })
  error: string;

  @ApiProperty({ type: [String], example: ['date: Invalid date format'] })
  details: string[];

  @ApiProperty({ description: 'The same id is in the x-request-id header and in the log' })
  request_id: string;
}
