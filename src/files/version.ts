import { packageFile, readPackageFileSync } from './package-file.ts'

export function readVersion(): string {
  const text = readPackageFileSync(packageFile('package.json')).toString('utf8')
  return (JSON.parse(text) as { version: string }).version
}
