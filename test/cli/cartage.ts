import { main } from '../../src/main.ts'

/** The command line from source, as bin/cartage runs it from dist. */
process.exitCode = await main(process.argv.slice(2))
