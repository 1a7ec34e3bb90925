export { Addon, type Asker } from './addon/addon.js';
export { ADDON_PATH, readAddress, routableUrl } from './addon/address.js';
export { type Answer } from './addon/answer.js';
export { byteRange } from './clips/byte-range.js';
export { type Clip, CLIPS } from './clips/clips.js';
export { PlaybackModule } from './playback.module.js';
