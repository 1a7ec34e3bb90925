export { Operations } from './operations.js';
export { AdminModule } from './admin.module.js';
export { type BudgetView, Observability, type ObservabilityView } from './observability.js';
