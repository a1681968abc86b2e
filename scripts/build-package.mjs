import { build, isBuilt } from './build.mjs'
import { runScript } from './run.mjs'

await runScript(async () => {
  if (!isBuilt()) await build()
  return 0
})
