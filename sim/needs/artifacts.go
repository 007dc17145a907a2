package needs

import (
	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/sim/results/recall"
)

// artifacts adds what a compaction left of paths, commands and failures. Of the summary only a recorded one counts.
func (j *Judge) artifacts(to *recall.Needs) {
	depth := to.Portion(recall.ByDepth, recall.Depth(j.depth))
	count := func(kind recall.Artifact, here bool, n float64) {
		a := to.Portion(recall.Artifacts, int(kind))
		a[recall.Whole] += n
		depth[recall.Whole] += n
		if here {
			a[recall.Part] += n
			depth[recall.Part] += n
		}
	}
	commands, failures := j.past.commands, j.past.failures
	for i := range j.present.blocks {
		state, b := j.shown.of(i).form(), &j.blocks[i]
		if state == absent || b.Kind != prompt.KindToolUse && b.Kind != prompt.KindToolResult {
			continue
		}
		here := state == whole || state == part
		command, failure := artifact(b)
		switch {
		case b.Object >= 0:
			j.meet(b, here)
		case command:
			count(recall.ArtifactCommand, here, 1)
		case failure:
			count(recall.ArtifactError, here, 1)
		}
	}
	count(recall.ArtifactCommand, false, float64(commands))
	count(recall.ArtifactError, false, float64(failures))
	read, edited := j.past.read, j.past.edited // objects of which nothing is here
	file := func(object int32, o uint8, here bool) {
		left := j.past.of(object)
		kind := recall.ArtifactRead
		if o&fileEdited != 0 || left.edits > 0 {
			kind = recall.ArtifactEdited
		}
		switch {
		case left.edits > 0:
			edited--
		case left.blocks > 0:
			read--
		}
		count(kind, here, 1)
	}
	for _, object := range j.restored {
		if n := int(object) + 1; n > len(j.files) {
			j.files = append(j.files, make([]uint8, n-len(j.files))...)
		}
		switch o := &j.files[object]; {
		case *o != 0:
			*o |= fileHere
		case j.past.of(object).blocks > 0:
			*o = fileMet | fileHere
			j.met = append(j.met, object)
		}
	}
	for _, object := range j.met {
		o := &j.files[object]
		file(object, *o, *o&fileHere != 0)
		*o = 0
	}
	j.met = j.met[:0]
	count(recall.ArtifactRead, false, float64(read))
	count(recall.ArtifactEdited, false, float64(edited))
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
	if edits(b) {
		*o |= fileEdited
	}
	if here {
		*o |= fileHere
	}
}
