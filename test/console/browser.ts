import { after } from 'node:test'
import { type Browser, chromium } from 'playwright-core'

let launched: Promise<Browser> | undefined

/** One browser for all tests of a file. */
export function browser(): Promise<Browser> {
  launched ??= chromium.launch({
    executablePath: process.env.CARTAGE_TEST_CHROMIUM || '/usr/bin/chromium',
    args: [
      // There is no GPU: maps are drawn by the processor.
      ...['--enable-unsafe-swiftshader', '--use-angle=swiftshader'],
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
    ],
    timeout: 60_000,
  })
  return launched
}

after(async () => {
  await (await launched)?.close()
})
