import { ApiProperty } from '@nestjs/swagger';

/** Every error of the API has this shape. */
export class ErrorAnswer {
  @ApiProperty({
    example: 'Validation failed',
    description: 'Tells a person what happened. The text may change.',
  })
  error: string;

  @ApiProperty({
    example: 'VALIDATION_FAILED',
    description: 'Tells a program what happened. A code does not change. docs/errors.md explains each code.',
  })
  code: string;

  @ApiProperty({
    type: [String],
    example: ['date: Invalid date format'],
    description: 'The wrong fields, each as `field: problem`; empty if no field is wrong',
  })
  details: string[];

  @ApiProperty({ description: 'The id of the request in the log, also sent in the header `x-request-id`' })
  request_id: string;
}
