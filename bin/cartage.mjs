#!/usr/bin/env node
// The command of an installed package, which is built. In a checkout bin/cartage sees to that first.
const args = process.argv.slice(2)
if (args[0] === '--version') await printVersion()
else await runCommand()

/** Scripts ask often: without the rest of the program it takes no longer than Node itself. */
async function printVersion() {
  const { readFileSync } = await import('node:fs')
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  process.stdout.write(`${version}\n`)
}

async function runCommand() {
  const { isOperatorCommand } = await import('../dist/cli/service-commands.js')
  if (!isOperatorCommand(args)) return import('../dist/cartage-cli.mjs')
  const { main } = await import('../dist/main.js')
  process.exitCode = await main(args)
}
