import { ApiProperty } from '@nestjs/swagger';

class BudgetAnswer {
  @ApiProperty()
  used: number;

  @ApiProperty()
  limit: number;

  @ApiProperty()
  remaining: number;

  @ApiProperty({ format: 'date-time' })
  resets_at: Date;
}

export class ObservabilityAnswer {
  @ApiProperty({ description: 'share of the calls of the last 24 hours that were answered with 429' })
  rate_429_24h: number;

  @ApiProperty({ type: BudgetAnswer, description: 'reads of these 15 minutes' })
  window: BudgetAnswer;

  @ApiProperty({ type: BudgetAnswer, description: 'reads of this day' })
  day: BudgetAnswer;
}
