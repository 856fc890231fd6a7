import helper

helper.fail()
