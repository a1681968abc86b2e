// node:test follows each promise with an async hook, to find the test that an error outside all tests belongs to. An
// await then takes fifteen times as long, and the services of a test run in its process. Without the hook such an error
// fails the file instead of one test.
const asyncHooks = require('node:async_hooks')

const noHook = { enable: () => noHook, disable: () => noHook }
asyncHooks.createHook = () => noHook
