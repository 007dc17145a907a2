package assembly

import "time"

// Time returns a time stamp in unix nanoseconds, 0 when no transcript could
// have it.
func Time(b []byte) int64 {
	t, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil {
		return 0
	}
	return sane(t)
}

// Millis returns a time in unix milliseconds as nanoseconds, 0 when no
// transcript could have it.
func Millis(ms int64) int64 { return sane(time.UnixMilli(ms).UTC()) }

// sane accepts the years a recording can come from, so that differences stay
// far from the limits of int64.
func sane(t time.Time) int64 {
	if y := t.Year(); y < 2020 || y > 2100 {
		return 0
	}
	return t.UnixNano()
}
