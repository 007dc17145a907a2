package sim

import "testing"

// The window a client logged is the session's; a smaller one that the recording
// passed is not believed, and the model's is 200,000 then; what is asked for wins.
func TestWindow(t *testing.T) {
	s := newSession("s").turns(2, 0, 1000).session()
	for _, tc := range []struct{ asked, logged, want int64 }{
		{0, 0, 200_000}, {0, 121_600, 121_600}, {50_000, 121_600, 50_000}, {0, 100, 200_000},
	} {
		s.Window = tc.logged
		c := Config{Window: tc.asked}
		if got := c.window(clientOf(s, c.cache(s)), s, s.Models[0]); got != tc.want {
			t.Errorf("asked %d, logged %d: %d, want %d", tc.asked, tc.logged, got, tc.want)
		}
	}
}
