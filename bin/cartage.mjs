#!/usr/bin/env node
// The command of an installed package, which is built. In a checkout bin/cartage sees to that first.
import { main } from '../dist/main.js'

process.exitCode = await main(process.argv.slice(2))
