import { main } from '../dist/main.js'

// `cartage` as it is built, without the looks that the command takes first.
process.exitCode = await main(process.argv.slice(2))
