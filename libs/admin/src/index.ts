export { Operations } from './operations.js';
export { AdminModule } from './admin.module.js';
export { type BudgetView, Observability, type ObservabilityView } from './observability.js';
export { DeadLetterOffice } from './dead-letter-office.js';
