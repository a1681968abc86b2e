import { provideChromium } from './chromium.mjs'
import { prepare } from './prepare.mjs'
import { run, runScript } from './run.mjs'

await runScript(async () => {
  await prepare()
  await provideChromium()
  return run(process.execPath, ['--import', 'tsx', 'bench/run.ts', ...process.argv.slice(2)])
})
