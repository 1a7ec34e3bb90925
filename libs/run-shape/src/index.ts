export { type Facts, type Usual } from './facts.js';
export { RunShapeProcessor } from './processing/run-shape-processor.js';
export {
  type ClimbPart,
  type Profile,
  PROFILES,
  type Repetitions,
  type RunShape,
  type Segment,
  type SegmentKind,
} from './run-shape.js';
export { RunShapeModule } from './run-shape.module.js';
export { SHAPE_VERSION, shapeOf } from './shape-of.js';
export { type EarlierActivity, usualOf } from './usual.js';
