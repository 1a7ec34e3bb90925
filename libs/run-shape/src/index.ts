export { type EarlierActivity, type ShapeFacts, usualOf } from './facts.js';
export {
  type Profile,
  PROFILES,
  type Repetitions,
  type RunShape,
  type Segment,
  type SegmentKind,
} from './run-shape.js';
export { RunShapeModule } from './run-shape.module.js';
export { shapeOf } from './shape-of.js';
