import { main } from '../../../src/main.ts'

// `cartage` from the sources, without a build.
process.exitCode = await main(process.argv.slice(2))
