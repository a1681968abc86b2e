import { readFileSync } from 'node:fs'
import { packageFile } from './package-file.ts'

export function readVersion(): string {
  const text = readFileSync(packageFile('package.json'), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
