import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { prepare } from './prepare.mjs'
import { root, runScript } from './run.mjs'

// The default ./data is the project's, wherever the command was called from.
process.env.CARTAGE_DATA_DIR ||= join(root, 'data')

await runScript(async () => {
  if (!existsSync(join(root, 'dist/main.js'))) await prepare()
  const { main } = await import('../dist/main.js')
  return main(process.argv.slice(2))
})
