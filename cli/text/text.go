// Package text writes numbers for people.
package text

import "strconv"

// Thousands writes a number with commas between groups of three digits: 1,234.
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for at := len(s) - 3; at > 0 && s[at-1] != '-'; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return s
}

// Count writes how many there are of something: 1 link, 2 links.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return Thousands(n) + " " + what + "s"
}
