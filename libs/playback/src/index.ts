export { Addon, type AddonRequest } from './addon/addon.js';
export { ADDON_PATH, readAddress, routableUrl } from './addon/address.js';
export { type AddonAnswer } from './addon/answer.js';
export { byteRange, CLIPS } from './clips/clips.js';
export { PlaybackGate } from './streams/playback-gate.js';
export { PlaybackModule } from './playback.module.js';
