import { existsSync } from 'node:fs'
import { after } from 'node:test'
import { type Browser, chromium } from 'playwright-core'

const launched = new Map<boolean, Promise<Browser>>()

/** One browser for all tests of a process. Without a GPU, drawing maps takes much CPU, so it is off by default. */
export function browser(drawsMaps: boolean): Promise<Browser> {
  const known = launched.get(drawsMaps) ?? launch(drawsMaps)
  launched.set(drawsMaps, known)
  return known
}

const launch = (drawsMaps: boolean) =>
  chromium.launch({
    executablePath: process.env.CARTAGE_TEST_CHROMIUM || installed(),
    args: [
      // All pages in one process: compiled code is reused.
      '--process-per-site',
      ...(drawsMaps ? ['--enable-unsafe-swiftshader', '--use-angle=swiftshader'] : ['--disable-gpu']),
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
    ],
    timeout: 60_000,
  })

/** The headless shell needs half the CPU. */
function installed(): string {
  const shell = '/usr/bin/chromium-headless-shell'
  return existsSync(shell) ? shell : '/usr/bin/chromium'
}

after(async () => {
  for (const each of launched.values()) await (await each).close()
})
