package charts

import (
	"bytes"
	"context"
	"testing"

	"github.com/compactsim/compactsim/sim"
	"github.com/compactsim/compactsim/sim/validate"
)

// A validation without calls has nothing to draw.
func TestDrawingsOfNothing(t *testing.T) {
	r, err := validate.Run(context.Background(), validate.Options{Config: sim.Config{}, Model: "plain cache", Profile: "none"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, d := range ValidationDrawings(r) {
		if err := d.Draw(&b, "svg"); err == nil {
			t.Errorf("%s: drawn without calls", d.Name)
		}
	}
}
