import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './run.mjs'

// The default ./data is the project's, wherever the command is called from.
process.env.CARTAGE_DATA_DIR ||= join(root, 'data')

if (!existsSync(join(root, 'dist/cartage-cli.mjs')) || !existsSync(join(root, 'dist/main.js'))) {
  const { prepare } = await import('./prepare.mjs')
  const { runScript } = await import('./run.mjs')
  await runScript(() => prepare().then(() => 0))
}
if (!process.exitCode) await import('../bin/cartage.mjs')
