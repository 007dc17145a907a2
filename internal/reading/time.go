package reading

import "time"

// Time returns a time stamp in unix nanoseconds, 0 when it is none that a
// transcript could have. The form that agents write
// (2026-03-25T02:17:20.880Z) is read without the generic parser.
func Time(b []byte) int64 {
	if len(b) == 24 && b[4] == '-' && b[7] == '-' && b[10] == 'T' && b[13] == ':' && b[16] == ':' && b[19] == '.' && b[23] == 'Z' {
		n := [...]int{digits(b[:4]), digits(b[5:7]), digits(b[8:10]), digits(b[11:13]), digits(b[14:16]), digits(b[17:19]), digits(b[20:23])}
		for _, v := range n {
			if v < 0 {
				return 0
			}
		}
		if n[1] == 0 || n[1] > 12 || n[2] == 0 || n[2] > 31 || n[3] > 23 || n[4] > 59 || n[5] > 60 {
			return 0
		}
		return sane(time.Date(n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], n[6]*1e6, time.UTC))
	}
	t, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil {
		return 0
	}
	return sane(t)
}

// sane accepts the years a recording can come from, which keeps differences
// far from the limits of int64.
func sane(t time.Time) int64 {
	if y := t.Year(); y < 2000 || y > 2200 {
		return 0
	}
	return t.UnixNano()
}

// digits returns the number b spells, -1 if it spells none.
func digits(b []byte) int {
	n := 0
	for _, c := range b {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}
