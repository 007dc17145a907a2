package needs

import (
	"slices"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/recall"
)

// artifacts adds what a compaction left of paths, commands and failures. Of the summary only a recorded one counts.
func (j *Judge) artifacts(to *recall.Needs) {
	depth := to.Portion(recall.ByDepth, recall.Depth(j.depth))
	count := func(kind recall.Artifact, here bool) {
		a := to.Portion(recall.Artifacts, int(kind))
		a[recall.Whole]++
		depth[recall.Whole]++
		if here {
			a[recall.Part]++
			depth[recall.Part]++
		}
	}
	for i := j.low; i < j.high; i++ {
		state, b := j.shown[i], &j.blocks[i]
		if state == absent || b.Kind != prompt.KindToolUse && b.Kind != prompt.KindToolResult {
			continue
		}
		here := state&formMask == whole || state&formMask == part
		switch {
		case b.Object >= 0:
			j.meet(b, here)
		case b.Kind == prompt.KindToolUse && b.Op == prompt.OpExec:
			count(recall.ArtifactCommand, here)
		case b.Kind == prompt.KindToolResult && b.Flags&prompt.FlagError != 0:
			count(recall.ArtifactError, here)
		}
	}
	for _, object := range j.met {
		o := &j.files[object]
		kind := recall.ArtifactRead
		if *o&fileEdited != 0 {
			kind = recall.ArtifactEdited
		}
		count(kind, *o&fileHere != 0 || slices.Contains(j.restored, object))
		*o = 0
	}
	j.met = j.met[:0]
}

// What artifacts found of an object.
const (
	fileMet uint8 = 1 << iota
	fileEdited
	fileHere
)

// meet records a block of an object, and whether the context has it.
func (j *Judge) meet(b *prompt.Block, here bool) {
	if n := int(b.Object) + 1; n > len(j.files) {
		j.files = append(j.files, make([]uint8, n-len(j.files))...)
	}
	o := &j.files[b.Object]
	if *o == 0 {
		*o = fileMet
		j.met = append(j.met, b.Object)
	}
	if b.Op == prompt.OpEdit || b.Op == prompt.OpWrite {
		*o |= fileEdited
	}
	if here {
		*o |= fileHere
	}
}
