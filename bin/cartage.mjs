#!/usr/bin/env node
// The command of an installed package, which is built. In a checkout bin/cartage sees to that first.
import { isForService } from '../dist/cli/service-commands.js'

const args = process.argv.slice(2)
if (isForService(args)) {
  const { main } = await import('../dist/main.js')
  process.exitCode = await main(args)
} else await import('../dist/cartage-cli.mjs')
