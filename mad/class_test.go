package mad

import "testing"

func TestClassString(t *testing.T) {
	checkStrings(t, []Class{
		ClassLID, ClassSA, ClassPerf, ClassBM, ClassDevMgt, ClassCM, ClassSNMP, ClassVendor, ClassCC, ClassVendor2, ClassDirected, 0,
	}, "Subn", "SubnAdm", "PerfMgt", "BM", "DevMgt", "ComMgt", "SNMP", "class(0x09)", "CC", "class(0x30)", "SubnDirected", "class(0x00)")
}

func TestClassKinds(t *testing.T) {
	for v := range 256 {
		c := Class(v)
		if got, want := c.IsSMP(), v == 0x01 || v == 0x81; got != want {
			t.Errorf("%v: IsSMP is %v", c, got)
		}
		if got, want := c.IsVendorOUI(), v >= 0x30 && v <= 0x4F; got != want {
			t.Errorf("%v: IsVendorOUI is %v", c, got)
		}
	}
}

// TestMethods: the numbers are those of IBTA 1, 13.4.5 and 15.2.2.
func TestMethods(t *testing.T) {
	known := []struct {
		number   uint8
		method   Method
		name     string
		response Method // 0 for none
	}{
		{0x01, MethodGet, "Get", 0x81},
		{0x02, MethodSet, "Set", 0x81},
		{0x03, MethodSend, "Send", 0},
		{0x05, MethodTrap, "Trap", 0x07},
		{0x06, MethodReport, "Report", 0x86},
		{0x07, MethodTrapRepress, "TrapRepress", 0},
		{0x12, MethodGetTable, "GetTable", 0x92},
		{0x13, MethodGetTraceTable, "GetTraceTable", 0x92},
		{0x14, MethodGetMulti, "GetMulti", 0x94},
		{0x15, MethodDelete, "Delete", 0x95},
		{0x81, MethodGetResp, "GetResp", 0},
		{0x86, MethodReportResp, "ReportResp", 0},
		{0x92, MethodGetTableResp, "GetTableResp", 0},
		{0x94, MethodGetMultiResp, "GetMultiResp", 0},
		{0x95, MethodDeleteResp, "DeleteResp", 0},
		{0x04, 0x04, "method(0x04)", 0},
		{0xFF, 0xFF, "method(0xff)", 0},
	}
	for _, c := range known {
		if uint8(c.method) != c.number || c.method.String() != c.name {
			t.Errorf("%#x is %v, %#x", c.number, c.method, uint8(c.method))
		}
		r, ok := c.method.Response()
		if r != c.response || ok != (c.response != 0) {
			t.Errorf("%v is answered by %v, %v", c.method, r, ok)
		}
		if got, want := c.method.IsResponse(), c.number >= 0x80 || c.number == 0x07; got != want {
			t.Errorf("%v: IsResponse is %v", c.method, got)
		}
	}
}

func TestMKeyString(t *testing.T) {
	checkStrings(t, []MKey{0, 1 << 63}, "0x0000000000000000", "0x8000000000000000")
}
