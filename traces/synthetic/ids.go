package synthetic

import "time"

// Identifiers have the form and length of real ones, but carry a counter behind
// a part that is constant in a session: they are unique by construction and
// compress well.

// uuid returns a version 4 UUID made of random bits and a counter below 2⁴⁸.
func uuid(bits, n uint64) string {
	var b [36]byte
	hexDigits(b[0:8], bits>>32)
	hexDigits(b[9:13], bits>>16)
	hexDigits(b[15:18], bits)
	hexDigits(b[19:23], 0x8000|bits>>4&0x3fff)
	hexDigits(b[24:36], n)
	b[8], b[13], b[14], b[18], b[23] = '-', '-', '4', '-', '-'
	return string(b[:])
}

// hexDigits fills b with the last digits of n.
func hexDigits(b []byte, n uint64) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = "0123456789abcdef"[n&15]
		n >>= 4
	}
}

// messageID returns the API's id of a call.
func (s *Session) messageID(call int) string { return s.apiID("msg_01", uint64(call)) }

// requestID returns the id of the HTTP request of a call.
func (s *Session) requestID(call int) string { return s.apiID("req_011C", uint64(call)) }

// toolUseID returns the id of a tool use.
func (s *Session) toolUseID(n int) string { return s.apiID("toolu_01", uint64(n)) }

const base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// apiID is 22 characters of base 58 behind a prefix: 16 of the session and a
// counter of 6.
func (s *Session) apiID(prefix string, n uint64) string {
	var b [22]byte
	hi, lo := s.dice.bits(forSession, 1<<32), s.dice.bits(forSession, 1<<33)
	for i := range 8 {
		b[i], b[8+i] = base58[hi%58], base58[lo%58]
		hi, lo = hi/58, lo/58
	}
	for i := len(b) - 1; i >= 16; i-- {
		b[i] = base58[n%58]
		n /= 58
	}
	return prefix + string(b[:])
}

// timestamp formats unix ns as the client does: UTC with milliseconds.
func timestamp(ns int64) string {
	return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000Z")
}
