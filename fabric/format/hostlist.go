package format

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// hostList writes names as Slurm's hostlist: names that differ in a number at
// their end become one, node[01-16,18]. The order is that of the names.
func hostList(names []string) string {
	groups := map[string][]string{} // the numbers behind a prefix
	var plain []string
	for _, name := range names {
		prefix := strings.TrimRight(name, "0123456789")
		if digits := name[len(prefix):]; digits != "" && len(digits) <= 18 {
			groups[prefix] = append(groups[prefix], digits)
		} else {
			plain = append(plain, name)
		}
	}
	for prefix, numbers := range groups {
		plain = append(plain, numbered(prefix, numbers)...)
	}
	slices.Sort(plain)
	return strings.Join(plain, ",")
}

// numbered writes the names of one prefix. Numbers with leading zeros go with
// all that have as many digits; the others go together.
func numbered(prefix string, numbers []string) []string {
	padded := map[int]bool{}
	for _, n := range numbers {
		padded[len(n)] = padded[len(n)] || n[0] == '0' && len(n) > 1
	}
	groups := map[int][]int64{} // by width, 0 for numbers without padding
	for _, n := range numbers {
		width := len(n)
		if !padded[width] {
			width = 0
		}
		v, err := strconv.ParseInt(n, 10, 64)
		if err == nil { // at most 18 digits
			groups[width] = append(groups[width], v)
		}
	}
	var out []string
	for width, values := range groups {
		slices.Sort(values)
		out = append(out, bracketed(prefix, width, slices.Compact(values)))
	}
	return out
}

// bracketed writes sorted numbers behind a prefix, runs as ranges.
func bracketed(prefix string, width int, values []int64) string {
	if len(values) == 1 {
		return fmt.Sprintf("%s%0*d", prefix, width, values[0])
	}
	var runs []string
	for i := 0; i < len(values); {
		k := i
		for k+1 < len(values) && values[k+1] == values[k]+1 {
			k++
		}
		run := fmt.Sprintf("%0*d", width, values[i])
		if k > i {
			run += fmt.Sprintf("-%0*d", width, values[k])
		}
		runs = append(runs, run)
		i = k + 1
	}
	return prefix + "[" + strings.Join(runs, ",") + "]"
}
