package live

import (
	"testing"
	"time"
)

// Who allows a request more time than usual allows that of silence too; what is
// asked for explicitly stands.
func TestIdleFollowsTimeout(t *testing.T) {
	for _, tc := range []struct{ timeout, idle, want time.Duration }{
		{0, 0, 90 * time.Second},
		{5 * time.Minute, 0, 90 * time.Second},
		{10 * time.Minute, 0, 90 * time.Second},
		{time.Hour, 0, time.Hour},
		{time.Hour, time.Minute, time.Minute},
	} {
		c, err := newAnthropic(Config{Key: NewSecret(canary), Settings: Settings{Timeout: tc.timeout}, Idle: tc.idle})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.config.Idle; got != tc.want {
			t.Errorf("timeout %v, idle %v: %v of silence, want %v", tc.timeout, tc.idle, got, tc.want)
		}
	}
}
