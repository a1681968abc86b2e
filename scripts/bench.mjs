import { prepare } from './prepare.mjs'
import { run, runScript } from './run.mjs'

await runScript(async () => {
  await prepare()
  return run(process.execPath, ['--import', 'tsx', 'bench/run.ts', ...process.argv.slice(2)])
})
