package needs

import (
	"context"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/compactsim/compactsim/sim/prompt"
	"github.com/compactsim/compactsim/traces"
	"github.com/compactsim/compactsim/traces/agents"
	"github.com/compactsim/compactsim/traces/synthetic"
)

// tape keeps what a listener is shown.
type tape struct {
	mu       sync.Mutex
	sessions []taped
}

type taped struct {
	session *traces.Session
	said    []any // *utter, by block
	bytes   int64
}

// utter is what one block says.
type utter struct {
	kind prompt.Kind
	text traces.Text
}

func (*tape) Hear(k prompt.Kind, t *traces.Text) any {
	u := &utter{k, *t}
	u.text.Text = strings.Clone(t.Text)
	return u
}

func (r *tape) Index(s *traces.Session, said []any) any {
	t := taped{session: s, said: said}
	for _, a := range said {
		if u, ok := a.(*utter); ok {
			t.bytes += int64(len(u.text.Text))
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sessions = append(r.sessions, t)
	return nil
}

// BenchmarkIndex makes the indices of sessions whose texts are in hand, on one core: the samples that come with the
// program, and the recordings beside the module where there are any. Bytes are bytes of the texts.
func BenchmarkIndex(b *testing.B) {
	folders := map[string]fs.FS{"samples": synthetic.Samples()}
	if dir := "../../../shared/traces"; exists(dir) {
		folders["recordings"] = os.DirFS(dir)
	}
	for name, folder := range folders {
		b.Run(name, func(b *testing.B) {
			r := &tape{}
			if _, err := agents.ReadFS(context.Background(), traces.Options{Listener: r}, folder); err != nil {
				b.Fatal(err)
			}
			bytes := int64(0)
			for i := range r.sessions {
				bytes += r.sessions[i].bytes
			}
			b.SetBytes(bytes)
			b.ReportAllocs()
			l := NewListener()
			for b.Loop() {
				for i := range r.sessions {
					s := &r.sessions[i]
					heard := make([]any, len(s.said))
					for k, a := range s.said {
						if u, ok := a.(*utter); ok {
							heard[k] = l.Hear(u.kind, &u.text)
						}
					}
					l.Index(s.session, heard)
				}
			}
		})
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
