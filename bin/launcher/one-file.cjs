// The filter of a jest run: of all test files, only the one that TEST_FILE names. Jest loads a filter with `require`.
module.exports = (files) => ({ filtered: files.filter((file) => file === process.env.TEST_FILE) });
