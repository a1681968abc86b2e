import { installPackages, isThere, waysToInstall } from './apt.mjs'
import { Failure, say } from './run.mjs'

const font = 'fonts-dejavu-core'
const packages = ['chromium', font]

/** The browser in which the console is measured: installs Debian's where that is allowed, else asks for it. */
export async function provideChromium() {
  if (process.env.CARTAGE_TEST_CHROMIUM || isThere('chromium')) return
  const asRoot = waysToInstall()
  if (!asRoot) throw new Failure(whatToDo)
  say(`installing Chromium: ${packages.join(' ')}`)
  await installPackages(asRoot, packages)
}

/**
 * The browser in which the console is tested: Chromium's headless shell, which needs half the CPU. Where it cannot be
 * installed, the full Chromium is used.
 */
export async function provideHeadlessChromium() {
  if (process.env.CARTAGE_TEST_CHROMIUM || isThere(shell)) return
  const asRoot = waysToInstall()
  if (!asRoot) return provideChromium()
  say(`installing Chromium for the tests of the console: ${shell} ${font}`)
  try {
    await installPackages(asRoot, [shell, font])
  } catch (error) {
    if (error.exitCode > 128) throw error
    say(`${shell} could not be installed (${error.message}): the whole Chromium is used`)
    await provideChromium()
  }
}

const shell = 'chromium-headless-shell'

const whatToDo = `There is no Chromium on this machine: install it (Debian: apt-get install ${packages.join(' ')}), or set CARTAGE_TEST_CHROMIUM to the path of one.`
