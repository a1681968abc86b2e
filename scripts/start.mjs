import { join } from 'node:path'
import { prepare } from './prepare.mjs'
import { root, runScript } from './run.mjs'

// The default ./data is the project's, wherever the command is called from.
process.env.CARTAGE_DATA_DIR ||= join(root, 'data')

// The service runs in this process, so that Ctrl-C and SIGTERM reach it directly.
await runScript(async () => {
  await prepare()
  const { main } = await import('../dist/main.js')
  return main(['serve', ...process.argv.slice(2)])
})
