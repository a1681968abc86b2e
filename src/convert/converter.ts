import { findGdal, type Gdal, onlyDrivers, registeredDrivers } from './gdal.ts'
import { type ConverterLimits, findSandbox, type SandboxKind } from './sandbox.ts'

/** GDAL in its sandbox, as this machine has them. */
export type Converter = Readonly<{ gdal: Gdal; sandbox: SandboxKind; limits: ConverterLimits }>

/** Or the sentence that says what is missing. */
export type ConverterState = Converter | Readonly<{ missing: string }>

/** `isUnprotected`: the operator has chosen to run it without a sandbox. */
export async function openConverter(
  isUnprotected: boolean,
  limits: ConverterLimits,
): Promise<ConverterState> {
  const [gdal, found] = await Promise.all([findGdal(), isUnprotected ? ('none' as const) : findSandbox()])
  if (!gdal) return { missing: 'GDAL is not installed (Debian: gdal-bin)' }
  if (!found) return { missing: 'no sandbox works here (Debian: bubblewrap)' }
  const probe = ['GPKG', 'PGDUMP']
  const registered = await registeredDrivers(gdal, onlyDrivers(gdal, probe)).catch(() => [])
  if (registered.join() !== probe.join()) return { missing: 'GDAL does not restrict its drivers' }
  return { gdal, sandbox: found, limits }
}

/** What it is, or what is missing, for an operator. */
export const describeConverter = (state: ConverterState) =>
  'missing' in state
    ? `only CSV: ${state.missing}`
    : `${state.gdal.version.replace(/,.*/, '')}, ${sandboxNames[state.sandbox]}`

const sandboxNames = {
  bubblewrap: 'in bubblewrap',
  unshare: 'in unshare',
  none: 'without a sandbox',
} as const
