package calls

import (
	"strconv"
	"strings"
)

// Name names the call at or after a line of a recording, in the form that a person
// gives: the session's id, "/" and the number of its file from 1 unless that is the
// first, ":" and the line.
func Name(id string, file uint16, line int32) string {
	if file > 0 {
		id += "/" + strconv.Itoa(int(file)+1)
	}
	return id + ":" + strconv.Itoa(int(line))
}

// ParseName takes the name of a call apart; its session may be the beginning of an id.
// It is not ok for the name of a session alone.
func ParseName(name string) (id string, file uint16, line int32, ok bool) {
	at := strings.LastIndexByte(name, ':')
	n, err := strconv.ParseInt(name[at+1:], 10, 32)
	if at < 0 || err != nil || n < 1 {
		return name, 0, 0, false
	}
	id = name[:at]
	if at = strings.LastIndexByte(id, '/'); at >= 0 {
		if k, err := strconv.ParseUint(id[at+1:], 10, 16); err == nil && k > 1 {
			return id[:at], uint16(k - 1), int32(n), true
		}
	}
	return id, 0, int32(n), true
}
