import { findGdal, type Gdal, onlyDrivers, registeredDrivers } from './gdal.ts'
import { type ConverterLimits, findSandbox, type SandboxKind } from './sandbox.ts'

/** GDAL in its sandbox, as this machine has them. */
export type Converter = Readonly<{ gdal: Gdal; sandbox: SandboxKind; limits: ConverterLimits }>

/** Or the sentence that says what is missing; what programs of ours need may be there. */
export type ConverterState =
  | Converter
  | Readonly<{ missing: string; sandbox: SandboxKind | undefined; limits: ConverterLimits }>

/** `isUnprotected`: the operator has chosen to run it without a sandbox. */
export async function openConverter(
  isUnprotected: boolean,
  limits: ConverterLimits,
): Promise<ConverterState> {
  const [gdal, found] = await Promise.all([findGdal(), isUnprotected ? ('none' as const) : findSandbox()])
  const without = (missing: string) => ({ missing, sandbox: found, limits })
  if (!gdal) return without('GDAL is not installed (Debian: gdal-bin)')
  if (!found) return without('no sandbox works here (Debian: bubblewrap)')
  const probe = ['GPKG', 'PGDUMP']
  const registered = await registeredDrivers(gdal, onlyDrivers(gdal, probe)).catch(() => [])
  if (registered.join() !== probe.join()) return without('GDAL does not restrict its drivers')
  return { gdal, sandbox: found, limits }
}

/** What it is, or what is missing, for an operator. */
export const describeConverter = (state: ConverterState) =>
  'missing' in state
    ? `${state.sandbox ? 'only CSV, Parquet and Arrow' : 'only CSV'}: ${state.missing}`
    : `${state.gdal.version.replace(/,.*/, '')}, ${sandboxNames[state.sandbox]}`

const sandboxNames = {
  bubblewrap: 'in bubblewrap',
  unshare: 'in unshare',
  none: 'without a sandbox',
} as const
