package strategies

import (
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
)

// Where the original is saved, what stands for a result points to it (004, step
// 5b); elsewhere it says only that the result is gone. Both weigh the same.
func TestMicrocompactPersists(t *testing.T) {
	for text, want := range map[string]prompt.Form{"persist: false": prompt.FormCleared, "persist: true": prompt.FormPointer} {
		k := newTalk()
		for range 5 {
			k.round("Read", "", 30000)
		}
		microcompacted(t, k, "microcompact: {trigger: {fixed: 1}, "+text+"}")
		for i := range k.Context.Len() {
			if e := k.Context.At(i); e.Kind == prompt.KindToolResult {
				if e.Form != want || e.Tokens != 12 {
					t.Errorf("%s: the oldest result is %v of %d tokens, want %v of 12", text, e.Form, e.Tokens, want)
				}
				break
			}
		}
	}
}
