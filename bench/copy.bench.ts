import { type Field, type Kind, kinds, openField } from './copy/field.ts'
import type { Entry } from './frame/entry.ts'
import { type Frame, inFrame } from './frame/frame.ts'
import { median, seconds } from './frame/measure.ts'
import { childCpuSeconds, ProcessSampler, processUse } from './frame/process-use.ts'

// For a trial: CARTAGE_BENCH_MB=50 npm run bench -- copyto-wide
const megabytes = Number(process.env.CARTAGE_BENCH_MB ?? 500)

/**
 * Two commands in the folder of the files: `$psql` reads the tables `source` and `target`, `$from` and `$to` are the
 * service's endpoints.
 */
type Course = Readonly<{
  title: string
  baseline: string
  aim: string
  baselineCommand: string
  oursCommand: string
  isUpload: boolean
}>

const courses: Readonly<Record<string, Course>> = {
  copyfrom: {
    title: 'copyfrom',
    baseline: '`psql \\copy from`',
    aim: '1.03 or less',
    baselineCommand: `$psql -c "\\copy target from 'source.csv' csv"`,
    oursCommand: 'curl -sSf -X POST -T source.csv -H "Transfer-Encoding: chunked" "$from"',
    isUpload: true,
  },
  copyto: {
    title: 'copyto',
    baseline: '`psql \\copy to`',
    aim: '0.95 or less',
    baselineCommand: `$psql -c "\\copy source to 'out.csv' csv"`,
    oursCommand: 'curl -sSf -o out.csv "$to"',
    isUpload: false,
  },
  'copyfrom-gzip': {
    title: 'copyfrom of a gzip file',
    baseline: '`gunzip -c` into psql',
    aim: '0.75 or less',
    baselineCommand: `gunzip -c source.csv.gz | $psql -c "\\copy target from stdin csv"`,
    oursCommand:
      'curl -sSf -X POST -T source.csv.gz -H "Transfer-Encoding: chunked" -H "Content-Encoding: gzip" "$from"',
    isUpload: true,
  },
  'copyto-gzip': {
    title: 'copyto in gzip',
    baseline: 'psql into `gzip -1`',
    aim: '0.75 or less',
    baselineCommand: `$psql -c "\\copy source to stdout csv" | gzip -1 > out.csv.gz`,
    oursCommand: 'curl -sSf -o out.csv.gz -H "Accept-Encoding: gzip" "$to"',
    isUpload: false,
  },
}

/** CPU seconds of the service for 500 MB. */
const gunzipAims: Readonly<Record<keyof typeof kinds, number>> = { narrow: 3.4, points: 2.2, wide: 1.35 }

export const entries: readonly Entry[] = [
  ...Object.entries(courses).flatMap(([name, course]) =>
    Object.entries(kinds).map(([kindName, kind]) => ({
      name: `${name}-${kindName}`,
      title: `${course.title}, ${megabytes} MB of ${kindName} rows`,
      baseline: course.baseline,
      unit: 's' as const,
      aim: course.aim,
      pairs: 5,
      prepare: inFrame((frame) => prepare(frame, course, kind)),
    })),
  ),
  ...Object.entries(gunzipAims).map(([kindName, aim]) => ({
    name: `copyfrom-cpu-${kindName}`,
    title: `CPU seconds of the service in copyfrom of a gzip file, ${megabytes} MB of ${kindName} rows`,
    baseline: 'those of `gunzip -c` of the same file',
    unit: 's' as const,
    aim: `${((aim * megabytes) / 500).toPrecision(3)} s or less`,
    pairs: 5,
    prepare: inFrame((frame) => prepareCpu(frame, kinds[kindName as keyof typeof kinds])),
  })),
  {
    name: 'copy-memory',
    title: `The most memory of the service in any copy of ${megabytes} MB`,
    baseline: 'before any of them',
    unit: 'MB',
    aim: '110 MB or less',
    pairs: 3,
    prepare: inFrame(prepareMemory),
  },
]

async function prepare(frame: Frame, course: Course, kind: Kind) {
  const field = await openField(frame, kind, megabytes, [course.isUpload ? 'files' : 'rows'])
  const uses: ReturnType<ProcessSampler['stop']>[] = []
  const baselines: number[] = []
  const directs: number[] = []
  return {
    baseline: async () => {
      const taken = await run(field, course, () => field.shell(course.baselineCommand))
      baselines.push(taken)
      if (course.isUpload) directs.push(await run(field, course, field.readDirectly))
      return taken
    },
    ours: async () => {
      const sampler = new ProcessSampler(field.pid, 10)
      const taken = await run(field, course, () => field.shell(course.oursCommand))
      uses.push(sampler.stop())
      return taken
    },
    notes: () => {
      const cpu = median(uses.map(({ cpuSeconds }) => cpuSeconds))
      const peaks = uses.map(({ peakRssMb }) => Math.round(peakRssMb))
      const limit = median(directs.map((taken, pair) => taken / baselines[pair]!))
      return [
        `service: ${cpu.toFixed(2)} CPU-s, peak RSS ${peaks[0]} MB in the first run, ${peaks.at(-1)} MB in the last`,
        ...(course.isUpload ? [`COPY from a file on the server: ${limit.toFixed(2)}`] : []),
      ].join('; ')
    },
  }
}

async function prepareCpu(frame: Frame, kind: Kind) {
  const field = await openField(frame, kind, megabytes, ['files'])
  const course = courses['copyfrom-gzip']!
  return {
    baseline: () => childCpuSeconds(() => field.shell('gunzip -c source.csv.gz > /dev/null')),
    ours: async () => {
      const sampler = new ProcessSampler(field.pid)
      await run(field, course, () => field.shell(course.oursCommand))
      return sampler.stop().cpuSeconds
    },
  }
}

/** All ways with all kinds of rows, each kind on its own service. */
async function prepareMemory(frame: Frame) {
  const fields: Field[] = []
  for (const kind of Object.values(kinds)) {
    fields.push(await openField(frame, kind, megabytes, ['rows', 'files']))
  }
  const idleMb = Math.max(...fields.map(({ pid }) => processUse(pid).rssBytes / 1024 ** 2))
  const peakOf = async (field: Field, course: Course) => {
    const sampler = new ProcessSampler(field.pid, 10)
    await run(field, course, () => field.shell(course.oursCommand))
    return sampler.stop().peakRssMb
  }
  return {
    baseline: async () => idleMb,
    ours: async () => {
      const peaks: number[] = []
      for (const field of fields) {
        for (const course of Object.values(courses)) peaks.push(await peakOf(field, course))
      }
      return Math.max(...peaks)
    },
    limit: 'memory',
  }
}

async function run(field: Field, { isUpload }: Course, copy: () => Promise<unknown>): Promise<number> {
  if (isUpload) await field.sql('truncate public.target')
  await field.sql('checkpoint')
  return seconds(copy)
}
