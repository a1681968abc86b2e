import { stopForAWhile } from '../postgres/stop-processes.ts'
import type { CartageProcess } from '../process.ts'
import type { Scene } from './scene.ts'

export async function killWorker({ stage, random, recovery }: Scene): Promise<void> {
  const { process: victim } = random.pick(stage.workers)
  await recovery.watch(victim.pid, () => victim.signal('SIGKILL'))
}

export async function killServer({ stage, random }: Scene): Promise<void> {
  random.pick(stage.servers).process.signal('SIGKILL')
}

export async function terminateWorker({ stage, random }: Scene): Promise<void> {
  random.pick(stage.workers).process.signal('SIGTERM')
}

export async function stopWorkerBriefly(scene: Scene): Promise<void> {
  stop(scene, scene.random.pick(scene.stage.workers).process, scene.random.between(100, 2_500))
}

/** The worker continues after its jobs were taken over. */
export async function stopWorkerLong(scene: Scene): Promise<void> {
  stop(scene, scene.random.pick(scene.stage.workers).process, scene.random.between(11_000, 15_000))
}

/** The server continues after accounts and keys have changed. */
export async function stopServer(scene: Scene): Promise<void> {
  stop(scene, scene.random.pick(scene.stage.servers).process, scene.random.between(500, 8_000))
}

function stop({ aftermath }: Scene, { pid }: CartageProcess, ms: number): void {
  aftermath.add('stop a process', stopForAWhile([pid], ms))
}
