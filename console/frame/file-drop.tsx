import { useLayoutEffect, useState } from 'preact/hooks'
import { listenForFiles } from '../parts/dropped-file.ts'
import { navigate } from '../parts/route.ts'

/** A file dropped on any page opens the upload page. */
export function FileDrop() {
  const [isOver, setOver] = useState(false)
  useLayoutEffect(() => listenForFiles(setOver, () => navigate('/upload')), [])
  return isOver ? <div class="drop-hint">Drop the file to upload it</div> : null
}
