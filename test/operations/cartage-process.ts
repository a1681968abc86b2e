import { main } from '../../src/main.ts'

// Run as a process of its own by processes.ts: the command line as in `cartage serve`.
process.exitCode = await main(process.argv.slice(2))
